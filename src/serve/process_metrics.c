/* serve/process_metrics.c - see process_metrics.h. */
#include "serve/process_metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/str.h"
#include "serve/app.h"
#include "serve/metric_text.h"

/* The second number of statm: pages in memory. */
static int64_t resident_bytes(void)
{
    char line[256] = "";
    int64_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f) return 0;
    if (!fgets(line, sizeof line, f)) line[0] = '\0';
    fclose(f);
    Str size, rest, resident;
    if (!str_cut(str_from(line), ' ', &size, &rest) || !str_cut(rest, ' ', &resident, &rest)) return 0;
    return str_to_int64(resident, &pages) ? pages * sysconf(_SC_PAGESIZE) : 0;
}

static int64_t entries_in(const char *folder)
{
    int64_t count = 0;
    DIR *d = opendir(folder);
    if (!d) return 0;
    for (const struct dirent *e; (e = readdir(d));) count += e->d_name[0] != '.';
    closedir(d);
    return count;
}

static void write_cpu(struct buf *out)
{
    struct rusage u;
    if (getrusage(RUSAGE_SELF, &u) != 0) return;
    metric_head(out, "process_cpu_seconds_total", "counter", "CPU time, user and system.");
    buf_printf(out, "process_cpu_seconds_total ");
    metric_seconds(out, (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000LL +
                            (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000LL);
    buf_printf(out, "\n");
}

void process_metrics_write(const struct app *app, struct buf *out)
{
    struct rlimit files;
    struct statvfs fs;
    write_cpu(out);
    metric_single(out, "process_start_time_seconds", "gauge", "When the process started.",
                  app->started_at.ms / TIME_SECOND);
    metric_single(out, "process_resident_memory_bytes", "gauge", "Memory in use.", resident_bytes());
    metric_single(out, "process_threads", "gauge", "Threads.", entries_in("/proc/self/task"));
    metric_single(out, "process_open_fds", "gauge", "Open files and sockets.", entries_in("/proc/self/fd"));
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        metric_single(out, "process_max_fds", "gauge", "Open files and sockets at most.", (int64_t)files.rlim_cur);
    if (statvfs(app->options.data_dir, &fs) == 0)
        metric_single(out, "souk_disk_free_bytes", "gauge", "Room in the data folder.",
                      (int64_t)fs.f_bavail * (int64_t)fs.f_frsize);
}
