package fairqueue

import (
	"slices"
	"testing"
	"testing/synctest"
)

func TestALineLetsOneInAtATimeAndNamespacesInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var line TurnLock
		var order []string
		line.Enter("greedy")
		for _, namespace := range []string{"greedy", "greedy", "greedy", "small", "other"} {
			go func() {
				line.Enter(namespace)
				defer line.Leave()
				order = append(order, namespace)
			}()
			synctest.Wait()
		}
		if len(order) > 0 {
			t.Errorf("%v come in although one is in", order)
		}
		line.Leave()
		synctest.Wait()
		if want := []string{"greedy", "small", "other", "greedy", "greedy"}; !slices.Equal(order, want) {
			t.Errorf("the turns are %v, want %v", order, want)
		}
		line.Enter("greedy") // nobody is in
		line.Leave()
	})
}
