package names

import (
	"testing"
	"time"
)

func TestClocksLeaveASecondInDoubt(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		after              time.Duration
		certainly, perhaps bool
	}{
		{-time.Second - 1, false, false},
		{-time.Second, false, true},
		{0, false, true},
		{time.Second, false, true},
		{time.Second + 1, true, true},
	} {
		at := noon.Add(test.after)
		if IsAfter(at, noon, false) != test.certainly || IsAfter(at, noon, true) != test.perhaps {
			t.Errorf("%v after: certainly %v, perhaps %v", test.after, IsAfter(at, noon, false), IsAfter(at, noon, true))
		}
		for _, inDoubt := range []bool{false, true} {
			if is, isBefore := IsAfter(at, noon, !inDoubt), Before(noon, inDoubt).Has(at); is == isBefore {
				t.Errorf("%v after, in doubt %v: before %v, after %v", test.after, inDoubt, isBefore, is)
			}
			if is, isIn := IsAfter(at, noon, inDoubt), Always.After(noon, inDoubt).Has(at); is != isIn {
				t.Errorf("%v after, in doubt %v: in the interval %v, after %v", test.after, inDoubt, isIn, is)
			}
		}
	}
}
