// Package engine proves Filecoin partitions with Groth16 over BLS12-381. It is
// what a program calls: New with the back ends that it wants (packages cuda and
// engine/cpu), OpenSRS, Prove. The other packages for users say more of one
// thing: groth16 of assignments and proofs, srs of parameter files, backend of
// devices and their errors, metrics and timeline of what the engine does.
//
// The life of a job, and where each step is:
//
//	Start            job.go        validates every partition, pins the parameters
//	  → queue        device.go     the least loaded device's queue, by priority, then arrival
//	  → worker       worker.go     takes one partition and carries it to its end
//	      Load       paramset.go   the set made usable on the device, once
//	      Prove      backend       the five sums: H, L, A, B1 in G1, B2 in G2
//	      Assemble   groth16       A, B and C from the sums, r and s
//	      self-check groth16       verified with the set's own key
//	  → Wait         job.go        proofs, or the first error
//
// What computes is behind the two interfaces of package backend: engine/cpu
// is the reference, package cuda the reason this library exists. The engine
// imports neither; the program that makes an Engine hands it the providers.
//
// All exported methods may be called from many goroutines.
package engine
