/* An allocator for repro_probe.py: each block lies between pages that may not be touched, so that a read or write outside of a
   tensor ends the process at once. Exit codes: 101 near address 0, 102 next to a block, 103 elsewhere, 110 out of addresses.

   cc -O2 -shared -fPIC -o fence.so repro_fence.c; LD_PRELOAD=$PWD/fence.so python …; then fence_on(from_start) by ctypes. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096UL
#define ARENA (1UL << 40)
#define LARGEST (1UL << 28)

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static char *arena;
static _Atomic size_t used;
static int is_on, from_start;

static int is_ours(const void *block) { return arena && (char *)block >= arena && (char *)block < arena + ARENA; }

static void ended(int number, siginfo_t *info, void *context) {
    uintptr_t address = (uintptr_t)info->si_addr;
    _exit(address < 65536 ? 101 : is_ours(info->si_addr) ? 102 : 103);
}

void fence_on(int start) {
    static char stack[65536];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = ended, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (!arena) arena = mmap(0, ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    from_start = start;
    is_on = 1;
    sigaltstack(&alternative, 0);
    sigaction(SIGSEGV, &action, 0);
    sigaction(SIGBUS, &action, 0);
}

void fence_off(void) { is_on = 0; }

/* A page with the sizes, the pages of the block, a page that stays closed. The block begins, or ends, at a closed or read-only page. */
static void *fenced(size_t alignment, size_t size) {
    if (size > LARGEST) { errno = ENOMEM; return 0; }
    size_t pages = (size ? size + PAGE - 1 : PAGE) / PAGE, place = atomic_fetch_add(&used, (pages + 2) * PAGE);
    if (place + (pages + 2) * PAGE > ARENA) _exit(110);
    size_t *head = (size_t *)(arena + place);
    if (mprotect(head, (pages + 1) * PAGE, PROT_READ | PROT_WRITE)) { errno = ENOMEM; return 0; }
    head[0] = pages;
    head[1] = size;
    mprotect(head, PAGE, PROT_READ);
    size_t rounded = ((size ? size : 1) + alignment - 1) / alignment * alignment;
    return (char *)head + PAGE + (from_start ? 0 : pages * PAGE - rounded);
}

static size_t *head_of(void *block) { return (size_t *)((uintptr_t)block / PAGE * PAGE - PAGE); }

int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = is_on ? fenced(alignment, size) : __libc_memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}

void *malloc(size_t size) { return is_on ? fenced(16, size) : __libc_malloc(size); }

void *calloc(size_t count, size_t each) {
    size_t size;
    if (!is_on) return __libc_calloc(count, each);
    return __builtin_mul_overflow(count, each, &size) ? 0 : fenced(16, size);
}

void free(void *block) {
    if (!block || !is_ours(block)) { __libc_free(block); return; }
    size_t *head = head_of(block), size = (head[0] + 1) * PAGE;
    madvise(head, size, MADV_DONTNEED);
    mprotect(head, size, PROT_NONE);
}

void *realloc(void *block, size_t size) {
    if (!block || !is_ours(block)) return is_on && !block ? fenced(16, size) : __libc_realloc(block, size);
    size_t before = head_of(block)[1];
    void *moved = malloc(size);
    if (moved) { memcpy(moved, block, before < size ? before : size); free(block); }
    return moved;
}

size_t malloc_usable_size(void *block) { return block && is_ours(block) ? head_of(block)[1] : 0; }
