/* api/ticket_ids.c - see ticket_ids.h. */
#include "api/ticket_ids.h"

enum err ticket_bad_ids(struct request *req, const struct ticket_unknown *unknown)
{
    if (unknown->department) request_bad_field(req, "department_id", ERR_FIELD_NOT_FOUND);
    if (unknown->order) request_bad_field(req, "order_id", ERR_FIELD_NOT_FOUND);
    if (unknown->license) request_bad_field(req, "license_id", ERR_FIELD_NOT_FOUND);
    return ERR_VALIDATION;
}
