// Command threadend shows, without the library, why its calls enter Go on
// threads that never end: threads that call Go and then end can stop a process
// whose runtime is Go 1.26 or 1.27.
//
//	go run ./tests/embedding/testdata/threadend THREADS SECONDS
//
// starts THREADS threads at a time, each of which calls a Go function and ends,
// while the collector runs all the time. It prints the number of calls and the
// longest time in which none ended; the exit code is 1 if that was more than a
// second. docs/embedding.md has what was seen with which release.
package main

/*
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

extern void threadendEnter(void);

enum { MAX_THREADS = 64 };
static int width;
static atomic_long calls;

static void *call_and_end(void *unused) {
    threadendEnter();
    calls++;
    return unused;
}

// All of them wait if one stops: no new thread comes that could set them going.
static void *start_threads(void *unused) {
    for (;;) {
        pthread_t threads[MAX_THREADS];
        for (int i = 0; i < width; i++)
            pthread_create(&threads[i], NULL, call_and_end, NULL);
        for (int i = 0; i < width; i++)
            pthread_join(threads[i], NULL);
    }
    return unused;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Watches for so many seconds from a thread that never enters Go meanwhile.
static double longest_stop(int threads, int seconds, long *made) {
    pthread_t starter;
    width = threads < MAX_THREADS ? threads : MAX_THREADS;
    pthread_create(&starter, NULL, start_threads, NULL);
    double begin = now(), since = begin, longest = 0;
    for (*made = 0; now() - begin < seconds; usleep(5000)) {
        long seen = calls;
        if (seen != *made) {
            *made = seen;
            since = now();
        }
        if (now() - since > longest)
            longest = now() - since;
    }
    return longest;
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
)

//export threadendEnter
func threadendEnter() { garbage = make([]byte, 64) }

var garbage []byte

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: threadend THREADS SECONDS")
		os.Exit(2)
	}
	threads, err1 := strconv.Atoi(os.Args[1])
	seconds, err2 := strconv.Atoi(os.Args[2])
	if err1 != nil || err2 != nil || threads < 1 || seconds < 1 {
		fmt.Fprintln(os.Stderr, "threadend: THREADS and SECONDS are numbers from 1")
		os.Exit(2)
	}
	go func() {
		for {
			runtime.GC()
		}
	}()
	var calls C.long
	stop := float64(C.longest_stop(C.int(threads), C.int(seconds), &calls))
	fmt.Printf("%s: %d calls, longest stop %.2f s\n", runtime.Version(), int64(calls), stop)
	if stop > 1 {
		os.Exit(1)
	}
}
