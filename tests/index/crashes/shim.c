/* Records the file operations of a process under one folder, and lets the Nth of them fail.
 *
 * Preloaded (LD_PRELOAD), it wraps the calls of the C library: SQLite's own operations are seen like Python's.
 * A record is: operation (1 byte), descriptor, offset, lengths of two values, and the values. An operation is recorded
 * when it has succeeded; one lock around call and record makes the order of records that of the operations.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { WRITES = 1, SYNCS = 2, NAMES = 4, READS = 8 };
enum { ONCE = 0, LASTING = 1, KILL = 2 };
#define DESCRIPTORS 4096

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static char root[4096];
static size_t root_length;
static FILE *record_file;
static char inside[DESCRIPTORS];
static int fault_classes, fault_errno, fault_mode;
static long fault_at, calls;

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int under_root(const char *path) {
    return root_length && path && strncmp(path, root, root_length) == 0;
}

static int tracked(int fd) { return fd >= 0 && fd < DESCRIPTORS && inside[fd]; }

static void record(char kind, int fd, int64_t offset, const void *a, size_t a_length, const void *b, size_t b_length) {
    if (!record_file) return;
    int32_t descriptor = fd;
    uint32_t lengths[2] = {(uint32_t)a_length, (uint32_t)b_length};
    int kept = errno;
    fwrite(&kind, 1, 1, record_file);
    fwrite(&descriptor, 4, 1, record_file);
    fwrite(&offset, 8, 1, record_file);
    fwrite(lengths, 4, 2, record_file);
    if (a_length) fwrite(a, 1, a_length, record_file);
    if (b_length) fwrite(b, 1, b_length, record_file);
    errno = kept;
}

/* Whether this call is to fail. Counts it in any case. */
static int fails(int class) {
    if (!(class & fault_classes)) return 0;
    calls++;
    if (!fault_at || calls < fault_at || (fault_mode != LASTING && calls > fault_at)) return 0;
    if (fault_mode == KILL) kill(getpid(), SIGKILL);
    errno = fault_errno;
    return 1;
}

/* The interface, called through ctypes. */
void shim_begin(const char *folder, const char *record_path) {
    pthread_mutex_lock(&mutex);
    root_length = strlen(folder);
    memcpy(root, folder, root_length + 1);
    record_file = record_path ? fopen(record_path, "wb") : NULL;
    calls = 0;
    pthread_mutex_unlock(&mutex);
}
void shim_fail(int classes, long at, int error, int mode) {
    pthread_mutex_lock(&mutex);
    fault_classes = classes, fault_at = at, fault_errno = error, fault_mode = mode, calls = 0;
    pthread_mutex_unlock(&mutex);
}
long shim_calls(void) { return calls; }
void shim_mark(const char *text) {
    pthread_mutex_lock(&mutex);
    record('!', -1, 0, text, strlen(text), NULL, 0);
    if (record_file) fflush(record_file);
    pthread_mutex_unlock(&mutex);
}

static int opened(int fd, const char *path, int flags) {
    if (fd >= 0 && fd < DESCRIPTORS) {
        inside[fd] = 1;
        record('o', fd, flags & (O_CREAT | O_TRUNC | O_ACCMODE), path, strlen(path), NULL, 0);
    }
    return fd;
}
#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        va_list arguments; \
        va_start(arguments, flags); \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, mode_t) : 0; \
        va_end(arguments); \
        if (!under_root(path)) { \
            int fd = real(path, flags, mode); \
            if (fd >= 0 && fd < DESCRIPTORS) inside[fd] = 0; \
            return fd; \
        } \
        pthread_mutex_lock(&mutex); \
        int fd = fails(NAMES) ? -1 : opened(real(path, flags, mode), path, flags); \
        pthread_mutex_unlock(&mutex); \
        return fd; \
    }
OPEN(open)
OPEN(open64)
#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        REAL(name); \
        va_list arguments; \
        va_start(arguments, flags); \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, mode_t) : 0; \
        va_end(arguments); \
        if (!under_root(path)) { \
            int fd = real(folder, path, flags, mode); \
            if (fd >= 0 && fd < DESCRIPTORS) inside[fd] = 0; \
            return fd; \
        } \
        pthread_mutex_lock(&mutex); \
        int fd = fails(NAMES) ? -1 : opened(real(folder, path, flags, mode), path, flags); \
        pthread_mutex_unlock(&mutex); \
        return fd; \
    }
OPENAT(openat)
OPENAT(openat64)

int close(int fd) {
    REAL(close);
    if (!tracked(fd)) return real(fd);
    pthread_mutex_lock(&mutex);
    inside[fd] = 0;
    record('c', fd, 0, NULL, 0, NULL, 0);
    int result = real(fd);
    pthread_mutex_unlock(&mutex);
    return result;
}

/* A disk that fills up writes a part first. */
static size_t before_full(size_t length) { return fault_errno == ENOSPC && fault_mode == LASTING ? length / 2 : 0; }

ssize_t write(int fd, const void *data, size_t length) {
    REAL(write);
    if (!tracked(fd)) return real(fd, data, length);
    pthread_mutex_lock(&mutex);
    int64_t offset = lseek(fd, 0, SEEK_CUR);
    ssize_t done = -1;
    if (!fails(WRITES)) done = real(fd, data, length);
    else if (calls == fault_at && before_full(length)) done = real(fd, data, before_full(length));
    if (done > 0) record('w', fd, offset, data, (size_t)done, NULL, 0);
    pthread_mutex_unlock(&mutex);
    return done;
}
#define PWRITE(name) \
    ssize_t name(int fd, const void *data, size_t length, off_t offset) { \
        REAL(name); \
        if (!tracked(fd)) return real(fd, data, length, offset); \
        pthread_mutex_lock(&mutex); \
        ssize_t done = -1; \
        if (!fails(WRITES)) done = real(fd, data, length, offset); \
        else if (calls == fault_at && before_full(length)) done = real(fd, data, before_full(length), offset); \
        if (done > 0) record('w', fd, offset, data, (size_t)done, NULL, 0); \
        pthread_mutex_unlock(&mutex); \
        return done; \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define SYNC(name) \
    int name(int fd) { \
        REAL(name); \
        if (!tracked(fd)) return real(fd); \
        pthread_mutex_lock(&mutex); \
        int result = fails(SYNCS) ? -1 : real(fd); \
        if (result == 0) record('s', fd, 0, NULL, 0, NULL, 0); \
        pthread_mutex_unlock(&mutex); \
        return result; \
    }
SYNC(fsync)
SYNC(fdatasync)

#define TRUNCATE(name) \
    int name(int fd, off_t size) { \
        REAL(name); \
        if (!tracked(fd)) return real(fd, size); \
        pthread_mutex_lock(&mutex); \
        int result = fails(NAMES) ? -1 : real(fd, size); \
        if (result == 0) record('t', fd, size, NULL, 0, NULL, 0); \
        pthread_mutex_unlock(&mutex); \
        return result; \
    }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

#define ON_NAME(name, kind, parameters, arguments, path) \
    int name parameters { \
        REAL(name); \
        if (!under_root(path)) return real arguments; \
        pthread_mutex_lock(&mutex); \
        int result = fails(NAMES) ? -1 : real arguments; \
        if (result == 0) record(kind, -1, 0, path, strlen(path), NULL, 0); \
        pthread_mutex_unlock(&mutex); \
        return result; \
    }
ON_NAME(unlink, 'u', (const char *path), (path), path)
ON_NAME(mkdir, 'm', (const char *path, mode_t mode), (path, mode), path)
ON_NAME(mkdirat, 'm', (int folder, const char *path, mode_t mode), (folder, path, mode), path)
ON_NAME(rmdir, 'd', (const char *path), (path), path)
int unlinkat(int folder, const char *path, int flags) {
    REAL(unlinkat);
    if (!under_root(path)) return real(folder, path, flags);
    pthread_mutex_lock(&mutex);
    int result = fails(NAMES) ? -1 : real(folder, path, flags);
    if (result == 0) record(flags & AT_REMOVEDIR ? 'd' : 'u', -1, 0, path, strlen(path), NULL, 0);
    pthread_mutex_unlock(&mutex);
    return result;
}
#define RENAME(name, parameters, arguments) \
    int name parameters { \
        REAL(name); \
        if (!under_root(from)) return real arguments; \
        pthread_mutex_lock(&mutex); \
        int result = fails(NAMES) ? -1 : real arguments; \
        if (result == 0) record('r', -1, 0, from, strlen(from), to, strlen(to)); \
        pthread_mutex_unlock(&mutex); \
        return result; \
    }
RENAME(rename, (const char *from, const char *to), (from, to))
RENAME(renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
RENAME(renameat2, (int a, const char *from, int b, const char *to, unsigned int flags), (a, from, b, to, flags))

/* Reads fail too, and so does mapping a file. */
ssize_t read(int fd, void *data, size_t length) {
    REAL(read);
    if (!tracked(fd)) return real(fd, data, length);
    pthread_mutex_lock(&mutex);
    int failed = fails(READS);
    pthread_mutex_unlock(&mutex);
    return failed ? -1 : real(fd, data, length);
}
#define PREAD(name) \
    ssize_t name(int fd, void *data, size_t length, off_t offset) { \
        REAL(name); \
        if (!tracked(fd)) return real(fd, data, length, offset); \
        pthread_mutex_lock(&mutex); \
        int failed = fails(READS); \
        pthread_mutex_unlock(&mutex); \
        return failed ? -1 : real(fd, data, length, offset); \
    }
PREAD(pread)
PREAD(pread64)
#define MMAP(name) \
    void *name(void *address, size_t length, int protection, int flags, int fd, off_t offset) { \
        REAL(name); \
        if (!tracked(fd)) return real(address, length, protection, flags, fd, offset); \
        pthread_mutex_lock(&mutex); \
        int failed = fails(READS); \
        pthread_mutex_unlock(&mutex); \
        return failed ? MAP_FAILED : real(address, length, protection, flags, fd, offset); \
    }
MMAP(mmap)
MMAP(mmap64)
