package intake

import "testing"

func TestEachResourceVersionIsCountedOnce(t *testing.T) {
	count := 0
	counter := VersionCounter{Inc: func() { count++ }}
	see := func(versions ...string) {
		for _, version := range versions {
			counter.count(version)
		}
	}
	see("5", "3", "4") // a list is in no order
	counter.advance("5")
	see("6")
	counter.advance("6")
	see("3", "4", "5", "6", "7") // listed again
	if count != 5 {
		t.Errorf("counted %d distinct versions, want 5", count)
	}
}
