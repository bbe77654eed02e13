// Package staging brings pageable memory to a device, through a ring of
// registered buffers that several goroutines fill. Scalars are checked on the
// way, and a witness is split by class.
package staging
