//! A circuit's columns at one point, without keeping its rows.

use bellperson::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar;
use ff::Field;

/// u, v, w of a variable: what the polynomials of its column in A, B and C are
/// at tau.
pub type Column = [Scalar; 3];

#[derive(Default)]
pub struct Columns {
    pub inputs: Vec<Column>,
    pub aux: Vec<Column>,
    pub rows: usize,
}

/// How many rows the circuit has, those that stand for inputs included.
pub fn rows(circuit: impl Circuit<Scalar>) -> Result<usize, SynthesisError> {
    Ok(columns(circuit, &[])?.rows)
}

/// Adds up every coefficient times its row's weight. Without weights, only counts.
pub fn columns(
    circuit: impl Circuit<Scalar>,
    weights: &[Scalar],
) -> Result<Columns, SynthesisError> {
    let mut cs = Weighted {
        weights,
        columns: Columns::default(),
    };
    cs.alloc_input(|| "one", || Ok(Scalar::ONE))?;
    circuit.synthesize(&mut cs)?;
    // bellperson's prover ends with a row x * 0 = 0 for each input.
    for i in 0..cs.columns.inputs.len() {
        cs.enforce(
            || "input",
            |lc| lc + Variable(Index::Input(i)),
            |lc| lc,
            |lc| lc,
        );
    }
    Ok(cs.columns)
}

struct Weighted<'a> {
    weights: &'a [Scalar],
    columns: Columns,
}

impl ConstraintSystem<Scalar> for Weighted<'_> {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, _: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.columns.aux.push(Column::default());
        Ok(Variable(Index::Aux(self.columns.aux.len() - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, _: F) -> Result<Variable, SynthesisError>
    where
        F: FnOnce() -> Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.columns.inputs.push(Column::default());
        Ok(Variable(Index::Input(self.columns.inputs.len() - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LB: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LC: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
    {
        let row = self.columns.rows;
        self.columns.rows += 1;
        let Some(weight) = self.weights.get(row) else {
            return;
        };
        let zero = LinearCombination::zero;
        for (form, sum) in [a(zero()), b(zero()), c(zero())].iter().enumerate() {
            for (variable, coefficient) in sum.iter() {
                let column = match variable.0 {
                    Index::Input(i) => &mut self.columns.inputs[i],
                    Index::Aux(i) => &mut self.columns.aux[i],
                };
                column[form] += coefficient * weight;
            }
        }
    }

    fn push_namespace<NR, N>(&mut self, _: N)
    where
        NR: Into<String>,
        N: FnOnce() -> NR,
    {
    }

    fn pop_namespace(&mut self) {}

    fn get_root(&mut self) -> &mut Self::Root {
        self
    }
}
