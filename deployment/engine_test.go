package deployment

import "testing"

// A name that is taken changes the count of collisions, from which the next name is made.
// Until the count is written, another attempt would meet the same name.
func TestACollisionIsRememberedUntilItsCountIsWritten(t *testing.T) {
	key, taken := web(3, "v1").key(), note{creation: CreationFailure{Name: "web-v1", Collided: true}}
	for name, test := range map[string]struct {
		actions    []Action
		remembered bool
		queued     int
	}{
		"the status was put off": {nil, true, 0},
		"the status was written": {[]Action{UpdateStatus{}}, false, 1},
		"another name was tried": {[]Action{CreateReplicaSet{}}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			e := newIdleEngine(t)
			e.goOn(key, taken, test.actions, now.AddDate(100, 0, 0))
			if remembered := e.notes.of(key).creation.Collided; remembered != test.remembered || e.queue.Len() != test.queued {
				t.Errorf("remembered: %t, queued: %d", remembered, e.queue.Len())
			}
		})
	}
}
