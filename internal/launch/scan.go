package launch

import "github.com/libcuzk/libcuzk/cuda/driver"

// Twins of the constants in msm/sort.cu.
const scanBatch = 2048

// scanBlock is the number of elements up to which one block scans alone.
const scanBlock = 1 << 14

var (
	kernelFill      = declare[fillArgs]("sort", "cuzk_fill", 256)
	kernelScanSums  = declare[scanArgs]("sort", "cuzk_scan_sums", 256)
	kernelScanTop   = declare[scanArgs]("sort", "cuzk_scan_top", 1024)
	kernelScanBlock = declare[scanArgs]("sort", "cuzk_scan_block", 1024)
	kernelScanApply = declare[scanArgs]("sort", "cuzk_scan_apply", 256)
)

type fillArgs struct {
	words    uint64
	n, value uint32
}

type scanArgs struct {
	in, sums, out uint64
	n, _          uint32
}

// Fill sets n words to value.
func Fill(words Range, n, value uint32) Call {
	return call(kernelFill, uint64(n), fillArgs{words.Addr, n, value}, writes(words, uint64(n)*WordBytes))
}

func scanSumsBytes(n uint32) uint64 { return uint64(blocks(uint64(n), scanBatch)) * WordBytes }

// scan writes out[i] = in[0] + ... + in[i-1] for i <= n, n >= 1, and out[i] to
// in[i] for i < n too. sums is scratch of scanSumsBytes(n).
func scan(in, out, sums Range, n uint32) []Call {
	args := scanArgs{in: in.Addr, sums: sums.Addr, out: out.Addr, n: n}
	if n <= scanBlock {
		return []Call{gridCall(kernelScanBlock, 1, 1, args,
			updates(in, uint64(n)*WordBytes), writes(out, (uint64(n)+1)*WordBytes))}
	}
	bytes, sumsBytes := uint64(n)*WordBytes, scanSumsBytes(n)
	grid := blocks(uint64(n), scanBatch)
	return []Call{
		gridCall(kernelScanSums, grid, 1, args, reads(in, bytes), writes(sums, sumsBytes)),
		gridCall(kernelScanTop, 1, 1, args, updates(sums, sumsBytes), out.Slice(bytes, WordBytes).touched(driver.Write)),
		gridCall(kernelScanApply, grid, 1, args, updates(in, bytes), reads(sums, sumsBytes), writes(out, bytes)),
	}
}
