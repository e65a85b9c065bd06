/* tests/unit/test_backup_folder.c - the folder of scheduled backups: what it is called, kept and swept, and who is
 * handed each new one. */
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database.h"
#include "serve/backup_folder.h"

static char folder[128];

static int open_folder(void **state)
{
    (void)state;
    test_folder(folder);
    return 0;
}

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int close_folder(void **state)
{
    (void)state;
    test_folder_remove(folder);
    return 0;
}

static void put_file(const char *name, const char *text, bool is_old)
{
    FILE *f = fopen(in_folder(name), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    if (is_old) assert_int_equal(utimensat(AT_FDCWD, in_folder(name), old, 0), 0);
}

static bool is_there(const char *name)
{
    return access(in_folder(name), F_OK) == 0;
}

static void backups_are_kept(void **state)
{
    (void)state;
    char path[64];
    const Time at = {1700000000000};
    assert_true(backup_folder_name(folder, at, path, sizeof path));
    assert_string_equal(path, in_folder("souk-20231114T221320Z.souk"));
    assert_false(backup_folder_name(folder, at, path, 20));
    static const char *const ours[] = {"souk-20200101T000000Z.souk", "souk-20200102T000000Z.souk"};
    static const char *const others[] = {"souk-2020x101T000000Z.souk", "souk+20200101T000000Z.souk", "a"};
    for (size_t i = 0; i < 2; i++) put_file(ours[i], "", false);
    for (size_t i = 0; i < 3; i++) put_file(others[i], "", false);
    backup_folder_keep(folder, 0);
    backup_folder_keep("/nowhere", 1);
    assert_true(is_there(ours[0]));
    backup_folder_keep(folder, 1);
    assert_false(is_there(ours[0]));
    assert_true(is_there(ours[1]));
    for (size_t i = 0; i < 3; i++) assert_true(is_there(others[i]));

    put_file("souk-a.part", "", true);
    put_file("souk-b.part", "", false);
    put_file("x.part", "", true);
    put_file("souk-verify-file", "", true);
    assert_int_equal(mkdir(in_folder("souk-verify-abc"), 0700), 0);
    put_file("souk-verify-abc/x", "", true);
    struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, in_folder("souk-verify-abc"), old, 0), 0);
    assert_int_equal(mkdir(in_folder("souk-folder.part"), 0700), 0);
    assert_int_equal(utimensat(AT_FDCWD, in_folder("souk-folder.part"), old, 0), 0);
    backup_folder_sweep(folder);
    backup_folder_sweep("/nowhere");
    assert_false(is_there("souk-a.part") || is_there("souk-verify-abc"));
    assert_true(is_there("souk-b.part") && is_there("x.part") && is_there("souk-verify-file"));
    assert_true(is_there("souk-folder.part"));
}

static void hook(const char *program, const char *text, bool stops, const char *want)
{
    char why[200] = "";
    _Atomic bool stop = stops;
    put_file("hook", text, false);
    bool ok = backup_hook_run(program, in_folder("hook"), &stop, why, sizeof why);
    assert_int_equal(ok, !*want);
    if (!strstr(why, want)) fail_msg("%s, not %s", why, want);
}

static void hooks_are_run(void **state)
{
    (void)state;
    hook("/bin/sh", "exit 0", false, "");
    hook("/bin/sh", "exit 3", false, "it ended with 3");
    hook("/bin/sh", "kill -9 $$", false, "it was ended by signal 9");
    hook("/bin/sh", "exec sleep 60", true, "it was ended: the server stops");
    hook("/no/such/program", "", false, "it cannot be started: No such file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(backups_are_kept, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(hooks_are_run, open_folder, close_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
