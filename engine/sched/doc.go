// Package sched decides which job goes next and keeps several workers from
// running one device out of memory: the priority queue, and the protocol of
// two locks, three turns and fences that docs/two-locks.md describes.
package sched
