package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/circuits/ondevice"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
)

// shapes of circuits for a domain of 2^log.
var shapes = map[string]func(log int) synth.Shape{
	"porep": func(log int) synth.Shape { return synth.PoRepLike(sizeOf(log)) },
	"dense": func(log int) synth.Shape { return synth.Dense(sizeOf(log)) },
}

// sizeOf fills a domain as much as a 32 GiB PoRep's partition fills 2^27:
// 130,278,869 rows, 328 inputs. Source: design of Filecoin's circuit, as
// rust-fil-proofs builds it.
func sizeOf(log int) (rows, inputs int) {
	const fullLog, fullRows, fullInputs = 27, 130_278_869, 328
	if log >= fullLog {
		rows = fullRows << (log - fullLog)
	} else {
		rows = (fullRows >> (fullLog - log)) + 1
	}
	return rows, max(1, min(fullInputs, rows/4))
}

// parameters are a set and what frees it.
type parameters struct {
	*srs.Params
	free func()
}

// makeParameters makes a circuit's set on the GPU if that is where it proves,
// else on the CPU.
func makeParameters(ctx context.Context, c *synth.Circuit, device backend.Info, log io.Writer) (*parameters, error) {
	start := time.Now()
	exponents := c.Exponents()
	evaluated := time.Now()
	points := onCPU
	if device.Backend == backend.CUDA {
		points = onCard
	}
	p, err := points(ctx, exponents)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(log, "parameters: exponents %.2f s, points %.2f s for %d MiB\n",
		evaluated.Sub(start).Seconds(), time.Since(evaluated).Seconds(), p.PointBytes()>>20)
	return p, nil
}

func onCPU(_ context.Context, e *synth.Exponents) (*parameters, error) {
	p, err := srs.New(e.VerifyingKey(), e.Points())
	return &parameters{p, func() {}}, err
}

func onCard(ctx context.Context, e *synth.Exponents) (*parameters, error) {
	card, err := ondevice.OpenFirst()
	if err != nil {
		return nil, err
	}
	set, err := card.Points(ctx, e)
	if err := errors.Join(err, card.Close()); err != nil {
		return nil, err
	}
	p, err := set.Params()
	return &parameters{p, set.Free}, err
}
