package rollout

import "testing"

func TestAMissingEffectOfAWriteIsFound(t *testing.T) {
	d, rs := web(3, "v1"), set("v1", 3, 3)
	rs.Controller = d.UID
	before, rolledBack := web(3, "v1"), web(3, "v2")
	rolledBack.Annotations = map[string]string{RollbackAnnotation: "1"}
	for want, got := range map[string]string{
		"minReadySeconds":                  (&UpdateReplicaSet{MinReadySeconds: new(int32(5))}).MissingIn(rs),
		"annotation a":                     missingAnnotation(map[string]string{"a": ""}, nil),
		"owner":                            MissingOwner(d, false, rs),
		"pod template":                     (&RollBack{}).MissingIn(before, before),
		"annotation " + RollbackAnnotation: (&RollBack{Remove: []string{RollbackAnnotation}}).MissingIn(before, rolledBack),
		"annotation b":                     (&RollBack{Annotations: map[string]string{"b": "c"}}).MissingIn(before, rolledBack),
		"annotation " + RevisionAnnotation: (&UpdateStatus{Status: d.Status, Revision: "7"}).MissingIn(d),
		"":                                 MissingOwner(d, true, rs),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := (EndRollBack{}).MissingIn(rolledBack); got == "" {
		t.Error("a request for a rollback that stays is not found")
	}
}
