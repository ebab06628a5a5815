package store

import (
	"fmt"
	"testing"
)

func TestOfEachNamespaceFewNotesAreKeptAndTheOthersAreCounted(t *testing.T) {
	n := Noted[string, int]{CountsAll: true}
	for i := range 3 * MaxNotedOf {
		if isNews := n.Put("hostile", fmt.Sprint(i), i+1); isNews != (i < MaxNotedOf) {
			t.Fatalf("note %d is news: %t", i, isNews)
		}
	}
	if !n.Put("a", "web", 1) || n.Put("a", "web", 1) || !n.Put("a", "web", 2) {
		t.Error("in another namespace, a note is not news once, and when it changes")
	}
	if kept, size := len(n.All()), n.Size(); kept != MaxNotedOf+1 || size != 3*MaxNotedOf+1 {
		t.Errorf("%d of %d notes are kept, want %d of %d", kept, size, MaxNotedOf+1, 3*MaxNotedOf+1)
	}
	last := fmt.Sprint(3*MaxNotedOf - 1)
	if note, isNoted := n.Find("hostile", last); !isNoted || note != 0 {
		t.Errorf("the last one: %d, %t", note, isNoted)
	}
	n.Drop("hostile", "0")
	if !n.Put("hostile", last, 7) || len(n.All()) != MaxNotedOf+1 || n.Size() != 3*MaxNotedOf {
		t.Errorf("it does not get the place of one that is gone: %d of %d", len(n.All()), n.Size())
	}
	n.DropAll("hostile", func(string) bool { return true })
	if n.Drop("a", "web"); n.Size() != 0 || n.kept != 0 || len(n.in) != 0 {
		t.Errorf("in the end %+v is kept", n.in)
	}
}

func TestInAllNamespacesNotVeryManyNotesAreKept(t *testing.T) {
	n := Noted[int, int]{CountsAll: true}
	const full, further = maxNoted / MaxNotedOf, 10
	for i := range (full + further) * MaxNotedOf {
		n.Put(fmt.Sprint(i/MaxNotedOf), i, 1)
	}
	if kept, size := len(n.All()), n.Size(); kept != maxNoted+further*fewNoted || size != (full+further)*MaxNotedOf {
		t.Errorf("%d of %d notes are kept", kept, size)
	}
}

func TestOfOthersNothingIsKeptIfNobodyCountsThem(t *testing.T) {
	var n Noted[int, int]
	for i := range 3 * MaxNotedOf {
		n.Put("hostile", i, 1)
	}
	if kept, size := len(n.All()), n.Size(); kept != MaxNotedOf || size != MaxNotedOf {
		t.Errorf("%d of %d notes are kept", kept, size)
	}
}
