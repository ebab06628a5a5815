package notes

import (
	"fmt"
	"testing"
)

func TestOfEachNamespaceFewNotesAreKeptAndTheOthersAreCounted(t *testing.T) {
	n := Notes[string, int]{CountsAll: true}
	for i := range 3 * MaxOf {
		if isNews := n.Put("hostile", fmt.Sprint(i), i+1); isNews != (i < MaxOf) {
			t.Fatalf("note %d is news: %t", i, isNews)
		}
	}
	if !n.Put("a", "web", 1) || n.Put("a", "web", 1) || !n.Put("a", "web", 2) {
		t.Error("in another namespace, a note is not news once, and when it changes")
	}
	if kept, size := len(n.All()), n.Size(); kept != MaxOf+1 || size != 3*MaxOf+1 {
		t.Errorf("%d of %d notes are kept, want %d of %d", kept, size, MaxOf+1, 3*MaxOf+1)
	}
	last := fmt.Sprint(3*MaxOf - 1)
	if note, isNoted := n.Find("hostile", last); !isNoted || note != 0 {
		t.Errorf("the last one: %d, %t", note, isNoted)
	}
	n.Drop("hostile", "0")
	if !n.Put("hostile", last, 7) || len(n.All()) != MaxOf+1 || n.Size() != 3*MaxOf {
		t.Errorf("it does not get the place of one that is gone: %d of %d", len(n.All()), n.Size())
	}
	n.DropAll("hostile", func(string) bool { return true })
	if n.Drop("a", "web"); n.Size() != 0 || n.kept != 0 || len(n.in) != 0 {
		t.Errorf("in the end %+v is kept", n.in)
	}
}

func TestInAllNamespacesNotVeryManyNotesAreKept(t *testing.T) {
	n := Notes[int, int]{CountsAll: true}
	const full, further = maxInAll / MaxOf, 10
	for i := range (full + further) * MaxOf {
		n.Put(fmt.Sprint(i/MaxOf), i, 1)
	}
	if kept, size := len(n.All()), n.Size(); kept != maxInAll+further*fewOf || size != (full+further)*MaxOf {
		t.Errorf("%d of %d notes are kept", kept, size)
	}
}

func TestOfOthersNothingIsKeptIfNobodyCountsThem(t *testing.T) {
	var n Notes[int, int]
	for i := range 3 * MaxOf {
		n.Put("hostile", i, 1)
	}
	if kept, size := len(n.All()), n.Size(); kept != MaxOf || size != MaxOf {
		t.Errorf("%d of %d notes are kept", kept, size)
	}
}
