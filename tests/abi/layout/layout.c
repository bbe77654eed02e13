/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sizes and offsets of ABI 1.0, compiled as C11 and as C++17. A line here
 * changes only with the major version; appended fields get new lines.
 */
#include "cuzk.h"
#include "supraseal_c2.h"

#ifdef __cplusplus
#define SAME(value, expected) static_assert((value) == (expected), #value)
#else
#define SAME(value, expected) _Static_assert((value) == (expected), #value)
#endif
#define AT(type, member, expected) SAME(offsetof(type, member), expected)

SAME(sizeof(void *), 8);
SAME(sizeof(size_t), 8);
SAME(sizeof(cuzk_status), 4);

SAME(sizeof(cuzk_fr), 32);
SAME(sizeof(cuzk_fp), 48);
SAME(sizeof(cuzk_fp2), 96);
SAME(sizeof(cuzk_g1), 96);
SAME(sizeof(cuzk_g2), 192);
AT(cuzk_g1, y, 48);
AT(cuzk_g2, y, 96);
AT(cuzk_fp2, c1, 48);

/* bellperson::groth16::Proof<Bls12> */
SAME(sizeof(cuzk_proof), 384);
AT(cuzk_proof, a, 0);
AT(cuzk_proof, b, 96);
AT(cuzk_proof, c, 288);

SAME(sizeof(cuzk_srs), 8);
SAME(sizeof(cuzk_job), 8);

SAME(sizeof(cuzk_srs_options), 16);
AT(cuzk_srs_options, struct_size, 0);
AT(cuzk_srs_options, flags, 8);
AT(cuzk_srs_options, reserved, 12);

SAME(sizeof(cuzk_srs_info), 64);
AT(cuzk_srs_info, domain_size, 8);
AT(cuzk_srs_info, num_inputs, 16);
AT(cuzk_srs_info, num_aux, 24);
AT(cuzk_srs_info, num_a, 32);
AT(cuzk_srs_info, num_b, 40);
AT(cuzk_srs_info, file_bytes, 48);
AT(cuzk_srs_info, point_bytes, 56);

SAME(sizeof(cuzk_density), 24);
AT(cuzk_density, bit_len, 8);
AT(cuzk_density, popcount, 16);

SAME(sizeof(cuzk_assignment), 144);
AT(cuzk_assignment, a, 8);
AT(cuzk_assignment, b, 16);
AT(cuzk_assignment, c, 24);
AT(cuzk_assignment, num_rows, 32);
AT(cuzk_assignment, inputs, 40);
AT(cuzk_assignment, num_inputs, 48);
AT(cuzk_assignment, aux, 56);
AT(cuzk_assignment, num_aux, 64);
AT(cuzk_assignment, a_aux, 72);
AT(cuzk_assignment, b_inputs, 96);
AT(cuzk_assignment, b_aux, 120);

SAME(sizeof(cuzk_prove_options), 24);
AT(cuzk_prove_options, flags, 8);
AT(cuzk_prove_options, priority, 12);
AT(cuzk_prove_options, device, 16);
AT(cuzk_prove_options, reserved, 20);

SAME(sizeof(cuzk_device_info), 680);
AT(cuzk_device_info, backend, 8);
AT(cuzk_device_info, name, 24);
AT(cuzk_device_info, detail, 152);
AT(cuzk_device_info, unusable, 408);
AT(cuzk_device_info, memory_bytes, 664);
AT(cuzk_device_info, workers, 672);

/* supraseal-c2: RustError, SRS, Assignment<Scalar>. */
SAME(sizeof(supraseal_error), 16);
AT(supraseal_error, message, 8);
SAME(sizeof(supraseal_srs), 8);
SAME(sizeof(supraseal_assignment), 136);
AT(supraseal_assignment, a_aux_density, 0);
AT(supraseal_assignment, a_aux_bit_len, 8);
AT(supraseal_assignment, a_aux_popcount, 16);
AT(supraseal_assignment, b_inp_density, 24);
AT(supraseal_assignment, b_inp_bit_len, 32);
AT(supraseal_assignment, b_inp_popcount, 40);
AT(supraseal_assignment, b_aux_density, 48);
AT(supraseal_assignment, b_aux_bit_len, 56);
AT(supraseal_assignment, b_aux_popcount, 64);
AT(supraseal_assignment, a, 72);
AT(supraseal_assignment, b, 80);
AT(supraseal_assignment, c, 88);
AT(supraseal_assignment, abc_size, 96);
AT(supraseal_assignment, inp_assignment_data, 104);
AT(supraseal_assignment, inp_assignment_size, 112);
AT(supraseal_assignment, aux_assignment_data, 120);
AT(supraseal_assignment, aux_assignment_size, 128);

/* Used as values, as a caller would. */
const cuzk_proof cuzk_layout_proof = {{{{0}}, {{0}}}, {{{{0}}, {{0}}}, {{{0}}, {{0}}}}, {{{0}}, {{0}}}};
const uint32_t cuzk_layout_version = CUZK_ABI_VERSION;
