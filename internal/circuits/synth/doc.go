// Package synth makes circuits of any size and shape together with valid
// parameters, from a seed: the input of tests and benchmarks.
//
// A circuit is drawn in three steps, each reproducible from shape and seed.
// New draws the witness, the densities and the values of the A and B forms on
// every row. Exponents evaluates the constraint system at a secret point τ and
// gives the discrete logarithm of every parameter point. Params multiplies the
// generators by those.
//
// # Why any values can be drawn
//
// A variable's coefficients in the A forms are drawn for the variable alone:
// they stand in rows that follow from its number. The constant one then stands
// in each A form with the coefficient that brings the form to its drawn value,
// and likewise in the C forms, whose value is a·b. In the B forms the same is
// done by the one, if the shape lets it occur there, or else by another
// variable that is not zero, the pivot; if there is none, every B form is 0.
// So the columns of all other variables, and the rows, can be computed each on
// its own, and the columns of the one and of the pivot follow from
//
//	Σ_var value·u_var(τ) = Σ_row a_row·L_row(τ)
//
// with L_row the Lagrange basis of the domain. Source for the parameters:
// Groth, eprint 2016/260 §3.2, with bellperson's extra row input·0 = 0 for
// each input.
//
// Whoever knows τ can forge proofs: these parameters are for testing only.
package synth
