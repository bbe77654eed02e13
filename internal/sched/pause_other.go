//go:build !linux

package sched

import "time"

func pause(d time.Duration) { time.Sleep(d) }
