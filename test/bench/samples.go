package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// samples are measured values of one kind.
type samples []float64

func (s samples) min() float64    { return slices.Min(s) }
func (s samples) max() float64    { return slices.Max(s) }
func (s samples) median() float64 { return s.quantile(0.5) }
func (s samples) p99() float64    { return s.quantile(0.99) }

// quantile returns the smallest value that at least the given share of the
// values do not exceed: of 400 values, the 0.99 quantile is the 396th.
func (s samples) quantile(share float64) float64 {
	sorted := slices.Sorted(slices.Values(s))
	rank := int(math.Ceil(share * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// spread prints the median and, of several values, the least and the greatest.
func (s samples) spread(format, unit string) string {
	median := strings.TrimSpace(fmt.Sprintf(format+" %s", s.median(), unit))
	if len(s) == 1 {
		return median
	}
	return fmt.Sprintf("%s ("+format+" to "+format+")", median, s.min(), s.max())
}

func (s *samples) add(value float64) { *s = append(*s, value) }

func (s *samples) addSeconds(d time.Duration) { s.add(d.Seconds()) }

func (s *samples) addMilliseconds(d time.Duration) { s.add(d.Seconds() * 1000) }
