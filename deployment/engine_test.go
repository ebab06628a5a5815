package deployment

import (
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/deployment/rollout"
)

// A name that is taken changes the count of collisions, from which the next name is made.
// Until the count is written, another attempt would meet the same name.
func TestACollisionIsRememberedUntilItsCountIsWritten(t *testing.T) {
	key, taken := web(3, "v1").Key(), writeHistory{creation: rollout.CreationFailure{Name: "web-v1", Collided: true}}
	for name, test := range map[string]struct {
		actions    []rollout.Action
		remembered bool
		queued     int
	}{
		"the status was put off": {nil, true, 0},
		"the status was written": {[]rollout.Action{rollout.UpdateStatus{}}, false, 1},
		"another name was tried": {[]rollout.Action{rollout.CreateReplicaSet{}}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			e := newIdleEngine(t)
			e.scheduleNext(key, taken, test.actions, now.AddDate(100, 0, 0))
			if remembered := e.histories.of(key).creation.Collided; remembered != test.remembered || e.queue.Len() != test.queued {
				t.Errorf("remembered: %t, queued: %d", remembered, e.queue.Len())
			}
		})
	}
}

// What was created is remembered until a status was written after it.
func TestACreationIsRememberedUntilAStatusIsWritten(t *testing.T) {
	create, report := rollout.CreateReplicaSet{Name: "web-v1"}, rollout.UpdateStatus{}
	for name, test := range map[string]struct {
		before  string
		actions []rollout.Action
		want    string
	}{
		"created":                      {"", []rollout.Action{create}, "web-v1"},
		"created and reported":         {"", []rollout.Action{create, rollout.RecordEvent{}, report}, ""},
		"a step, the status put off":   {"web-v1", []rollout.Action{rollout.UpdateReplicaSet{}}, "web-v1"},
		"reported at last":             {"web-v1", []rollout.Action{rollout.UpdateReplicaSet{}, report}, ""},
		"nothing was carried out":      {"web-v1", nil, "web-v1"},
		"another was created meantime": {"web-v0", []rollout.Action{create}, "web-v1"},
	} {
		t.Run(name, func(t *testing.T) {
			h := writeHistory{created: test.before}
			if h.record(test.actions, time.Time{}); h.created != test.want {
				t.Errorf("remembered: %q", h.created)
			}
		})
	}
}
