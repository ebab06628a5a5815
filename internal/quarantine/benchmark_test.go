package quarantine

import (
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// fullSet returns a set that remembers no more, and its objects.
func fullSet() (*Set, []Object) {
	s, _, _ := newSet()
	var left []Object
	for i := range maxObjects {
		o := object(strconv.Itoa(i), "1")
		o.UID, o.Namespace = types.UID(strconv.Itoa(i)), strconv.Itoa(i/maxObjectsOf)
		s.add(Intake, o)
		left = append(left, o)
	}
	return s, left
}

func BenchmarkAListIn10000ObjectsCouldNotBeTakenIn(b *testing.B) {
	s, there := fullSet()
	for len(there) < 10*maxObjects {
		there = append(there, object("more-"+strconv.Itoa(len(there)), "1"))
	}
	for b.Loop() {
		s.ReleaseIntake("ConfigMap", "", there)
	}
}

func BenchmarkLookingUp10000ObjectsAmongThoseThatAreLeftAlone(b *testing.B) {
	s, _ := fullSet()
	for b.Loop() {
		left := s.NotTakenIn("0")
		for i := range 10 * maxObjects {
			left.Has(types.UID(strconv.Itoa(-i)))
		}
	}
}
