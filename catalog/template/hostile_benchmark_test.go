package template

import (
	"strings"
	"testing"
)

// BenchmarkCheckQuantities reads a pod template of nearly as many bytes as the API server takes.
func BenchmarkCheckQuantities(b *testing.B) {
	for name, unit := range map[string]string{"letters": "abcdefghij", "runs of digits": strings.Repeat("7", longDigits-1) + "x", "exponents": "e123"} {
		b.Run(name, func(b *testing.B) {
			text := []byte(`{"spec":{"containers":[{"name":"a","env":[{"name":"A","value":"` + strings.Repeat(unit, 1_400_000/len(unit)) + `"}]}]}}`)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if err := CheckQuantities(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
