// Package gpu holds the acceptance of the CUDA back end: its tests run through
// the engine, on a card with CUZK_REQUIRE_GPU=1, and else on the simulator with
// small sizes.
//
// build.sh collects everything that a machine with a card needs, which has
// neither this repository's tools nor its sources; run.sh runs it there,
// section by section, and sums up.
package gpu
