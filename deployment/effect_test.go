package deployment

import "testing"

func TestWhatAWriteLacksIsFound(t *testing.T) {
	d, rs := web(3, "v1"), set("v1", 3, 3)
	rs.Controller = d.UID
	before, rolledBack := web(3, "v1"), web(3, "v2")
	rolledBack.Annotations = map[string]string{rollbackAnnotation: "1"}
	for want, got := range map[string]string{
		"minReadySeconds":                  (&UpdateReplicaSet{MinReadySeconds: new(int32(5))}).missingIn(rs),
		"annotation a":                     missingAnnotation(map[string]string{"a": ""}, nil),
		"owner":                            missingOwner(d, false, rs),
		"pod template":                     (&RollBack{}).missingIn(before, before),
		"annotation " + rollbackAnnotation: (&RollBack{Remove: []string{rollbackAnnotation}}).missingIn(before, rolledBack),
		"annotation b":                     (&RollBack{Annotations: map[string]string{"b": "c"}}).missingIn(before, rolledBack),
		"annotation " + revisionAnnotation: (&UpdateStatus{Status: d.Status, Revision: "7"}).missingIn(d),
		"":                                 missingOwner(d, true, rs),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := (EndRollBack{}).missingIn(rolledBack); got == "" {
		t.Error("a request for a rollback that stays is not found")
	}
}
