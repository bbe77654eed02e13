// Package registered keeps host memory registered with the driver: the memory
// that a program asks for, and the points of parameter sets that are streamed.
// One context registers it, for the contexts of all devices of the process.
package registered
