// Package sched decides which job goes next and keeps several workers from
// running one device out of memory.
//
// Queue and Pool are for every back end: jobs wait by priority, workers carry
// them. Scheduler is the protocol of two locks, three turns and fences for a
// device with memory of its own; docs/two-locks.md has the argument and
// tests/model the proof. What a device has to provide is the interface
// Device; what a job does is the three functions of Work:
//
//	err := s.Run(ctx, need, sched.Work{
//		Upload: func(ctx context.Context, t *sched.Ticket) error {
//			// In the upload turn, no lock held. Piece by piece:
//			return t.Enqueue(ctx, sched.Upload, copyPiece, blockA)
//		},
//		Compute: func(ctx context.Context, t *sched.Ticket) error {
//			// In the compute turn. The compute stream already waits for the
//			// upload. Each Enqueue holds the compute lock while it runs.
//			err := t.Enqueue(ctx, sched.Compute, launchProduct, blockA, blockB)
//			...
//			return t.HandOn(blockB) // its last use is enqueued
//		},
//		Finish: func(ctx context.Context, t *sched.Ticket) error {
//			return t.Await(ctx, resultsCopied) // polls, holds nothing
//		},
//	})
//
// However Run ends, everything the job held has been handed on with its
// fences, its turns have advanced, and nothing it enqueued is still running.
package sched
