// Package devcontext has all that lives and dies with a driver's context: its
// streams and mapped memory, kernels, rings, results, and the clock of the
// timeline. It is the sched.Device of a GPU, and knows no partition.
package devcontext
