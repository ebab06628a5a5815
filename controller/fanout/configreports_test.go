package fanout

import "testing"

func TestTheEndOfAFanOutNamesThoseThatLackPods(t *testing.T) {
	const ended = "ended: no restart for it is due or under way any more"
	for want, o := range map[string]Outcome{
		ended + "; at least 2 delivered; 1 restarted and lack pods":                                  {Delivered: 2, unwell: 1, lacking: 1},
		ended + "; 3 restarted and lack pods":                                                        {unwell: 3, lacking: 3},
		ended + "; at least 1 delivered":                                                             {Delivered: 1, unwell: 1},
		"ended: no restart for it is under way any more; 2 not restarted; 1 restarted and lack pods": {Due: 2, unwell: 1, lacking: 1},
		"finished: at least 1 delivered":                                                             {Delivered: 1},
		ended:                                                                                        {},
	} {
		if text := o.text(); text != want {
			t.Errorf("%q, want %q", text, want)
		}
	}
}
