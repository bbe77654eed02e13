// Package cudasim gives tests a CUDA driver without a GPU: a libcuda.so.1 that
// runs our own kernel sources, compiled for the host, under the real driver
// binding. It checks every memory access and the order between streams, and
// fails any call on demand. CONTRACT.md says what it asks of the code under
// test; NOTES.md how it works and what it does not see.
//
// The driver is loaded once a process, so a test binary uses either the
// simulator or a GPU, and tests that use the simulator do not run in parallel.
package cudasim
