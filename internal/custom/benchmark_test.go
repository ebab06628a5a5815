package custom

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkPartsOfALargeObject reads an object of nearly as many bytes as the API server takes.
func BenchmarkPartsOfALargeObject(b *testing.B) {
	var fields strings.Builder
	for i := range 90_000 {
		fmt.Fprintf(&fields, `"k%06d": 1, `, i)
	}
	for name, spec := range map[string]string{"small": selector + "," + template, "very many fields": fields.String() + selector + "," + template} {
		for _, kind := range []string{"gadgets.v1.example.com", "clonesets.v1alpha1.apps.kruise.io"} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				k, o := kindOf(b, kind), object(b, spec, "")
				b.ReportAllocs()
				for b.Loop() {
					if p := k.Parts(o); p.Problem != "" {
						b.Fatal(p.Problem)
					}
				}
			})
		}
	}
}
