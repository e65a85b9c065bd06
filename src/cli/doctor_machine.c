/* cli/doctor_machine.c - see doctor.h: the clock, the files' owners and modes, the disk. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include "cli/doctor.h"

#define OUR_YEAR_MS 1767225600000LL /* 2026: no store is older than the program */
#define MB ((uint64_t)1024 * 1024)

void doctor_clock(struct doctor *d)
{
    struct timex t = {0}; /* asks, and changes nothing */
    char now[TIME_TEXT_LEN + 1];
    time_format(time_now(), now);
    int state = adjtimex(&t);
    if (time_now().ms < OUR_YEAR_MS)
        doctor_found(
            d, FINDING_BROKEN, "clock", str_printf(d->arena, "it says %s, which is in the past", now),
            "Set the clock and switch on time synchronisation (timedatectl set-ntp true): signatures and second"
            " factors fail without the right time");
    else if (state < 0)
        doctor_found(d, FINDING_LOOK, "clock", STR("the system does not say whether anything keeps it right"),
                     "See on the machine itself that time synchronisation is on (timedatectl)");
    else if (state == TIME_ERROR)
        doctor_found(d, FINDING_LOOK, "clock", STR("nothing keeps it right"),
                     "Switch on time synchronisation (timedatectl set-ntp true): webhooks are refused when the clock is"
                     " five minutes off");
    else
        doctor_found(d, FINDING_OK, "clock", STR("it is synchronised"), "");
}

/* `others`: the mode bits that nobody else may have. */
static bool look_at(struct doctor *d, const char *path, const char *noun, mode_t others, const char *repair)
{
    struct stat s;
    if (stat(path, &s) != 0) {
        doctor_found(d, FINDING_BROKEN, "permissions",
                     str_printf(d->arena, "the %s %s cannot be looked at: %s", noun, path, strerror(errno)),
                     "Run doctor as the user that the store runs as, with the same options");
        return false;
    }
    if (access(path, S_ISDIR(s.st_mode) ? R_OK | W_OK | X_OK : R_OK) != 0) {
        doctor_found(d, FINDING_BROKEN, "permissions", str_printf(d->arena, "the %s %s is not ours to use", noun, path),
                     "Give it to the user that the store runs as (chown)");
        return false;
    }
    if (s.st_mode & others) {
        doctor_found(d, FINDING_LOOK, "permissions",
                     str_printf(d->arena, "other users of this machine can get at the %s %s (mode %03o)", noun, path,
                                (unsigned)(s.st_mode & 0777)),
                     repair);
        return false;
    }
    return true;
}

static bool is_file(const struct config *config)
{
    return !strstr(config->db, "://");
}

void doctor_permissions(struct doctor *d)
{
    char key[PATH_MAX];
    bool ok = look_at(d, cli_data_dir(d->config), "data folder", 077, "chmod 700 it");
    if (!*d->config->key && cli_key_path(d->config, key, sizeof key))
        ok = look_at(d, key, "master key", 077, "chmod 600 it, and change the key if somebody else may have read it") &&
             ok;
    if (is_file(d->config)) ok = look_at(d, d->config->db, "database", 007, "chmod 600 it") && ok;
    if (ok) doctor_found(d, FINDING_OK, "permissions", STR("folder, key and database are ours alone"), "");
}

static void look_at_disk(struct doctor *d, const char *path, const char *noun)
{
    struct statvfs fs;
    if (statvfs(path, &fs) != 0) return; /* the permissions have said why */
    uint64_t free_mb = (uint64_t)fs.f_bavail * fs.f_frsize / MB;
    Str what = str_printf(d->arena, "%llu MB are free for the %s", (unsigned long long)free_mb, noun);
    if (free_mb < 20)
        doctor_found(d, FINDING_BROKEN, "disk", what, "Make room at once: without it nothing can be sold");
    else if (free_mb < 500)
        doctor_found(d, FINDING_LOOK, "disk", what, "Make room soon");
    else if (fs.f_files && fs.f_favail < 1000)
        doctor_found(d, FINDING_LOOK, "disk",
                     str_printf(d->arena, "there is room for only %llu more files beside the %s",
                                (unsigned long long)fs.f_favail, noun),
                     "Remove files that nobody needs");
    else
        doctor_found(d, FINDING_OK, "disk", what, "");
}

void doctor_disk(struct doctor *d)
{
    look_at_disk(d, cli_data_dir(d->config), "product files");
    if (is_file(d->config)) look_at_disk(d, d->config->db, "database");
}
