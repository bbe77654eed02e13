// Package timeline records when things happened, as spans that Chrome's
// tracing page and Perfetto show: partitions waiting, turns, staging, copies
// and kernels on a device's streams, the locks. A program calls Start and Stop;
// the rest is for the engine and the back ends, which record.
//
// There is one recording in a process at a time, as with runtime/trace: what a
// span shows is mostly that of other jobs. While none runs, everything here
// costs one atomic load.
//
// A recording is written as it goes, in Chrome's JSON array format, in which
// the closing bracket may be missing: a process that dies leaves a readable
// file that lacks the last tenth of a second.
package timeline
