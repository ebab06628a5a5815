package quarantine

import (
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// holdsAsManyAsItCan returns a ward that remembers no more, and what it holds.
func holdsAsManyAsItCan() (*Ward, []Object) {
	w, _, _ := newWard()
	var held []Object
	for i := range maxHeld {
		o := object(strconv.Itoa(i), "1")
		o.UID = types.UID(strconv.Itoa(i))
		w.hold(Intake, o)
		held = append(held, o)
	}
	return w, held
}

func BenchmarkAListIn10000ObjectsCouldNotBeTakenIn(b *testing.B) {
	w, there := holdsAsManyAsItCan()
	for len(there) < 10*maxHeld {
		there = append(there, object("more-"+strconv.Itoa(len(there)), "1"))
	}
	for b.Loop() {
		w.ReleaseIntake("ConfigMap", "", there)
	}
}

func BenchmarkLookingUp10000ObjectsAmongThoseThatAreHeld(b *testing.B) {
	w, _ := holdsAsManyAsItCan()
	for b.Loop() {
		held := w.NotTakenIn("ns")
		for i := range 10 * maxHeld {
			held.Has(types.UID(strconv.Itoa(-i)))
		}
	}
}
