package rollout

import "testing"

func TestActionsHaveAKindAndWords(t *testing.T) {
	target := Meta{Name: "web-v1"}
	for _, test := range []struct {
		action      Action
		kind, words string
	}{
		{CreateReplicaSet{Name: "web-v1", Replicas: 3, Annotations: map[string]string{RevisionAnnotation: "2"}}, "create", "create replicaset web-v1 with 3, revision 2"},
		{UpdateReplicaSet{Target: target, From: 3, To: 1}, "scale", "scale replicaset web-v1 from 3 to 1"},
		{UpdateReplicaSet{Target: target, MinReadySeconds: new(int32(3))}, "annotate", "update replicaset web-v1, minReadySeconds=3"},
		{UpdateReplicaSet{Target: target, Annotations: map[string]string{"secret": "x"}}, "annotate", "update replicaset web-v1, annotation secret"},
		{DeleteReplicaSet{target}, "delete", "delete replicaset web-v1"},
		{AdoptReplicaSet{target}, "adopt", "adopt replicaset web-v1"},
		{ReleaseReplicaSet{target}, "release", "release replicaset web-v1"},
		{RollBack{Source: target, Revision: 7}, "rollback", "roll back to revision 7, replicaset web-v1"},
		{EndRollBack{}, "rollback", "remove the request for a rollback"},
		{UpdateStatus{Revision: "7"}, "status", "status: 0 existing, 0 updated, 0 ready, 0 available, 0 unavailable, revision 7"},
		{RecordEvent{"Normal", "Reason", "message"}, "event", "event Normal Reason: message"},
	} {
		if test.action.Kind() != test.kind || test.action.String() != test.words {
			t.Errorf("%s: %s", test.action.Kind(), test.action)
		}
	}
}
