package test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"
)

// undoRecord waits for the record of a workload, lets an operator undo it, and returns when it was written.
func (s *scene) undoRecord(w workload, patch string) time.Time {
	s.Helper()
	var basis struct{ Written time.Time }
	s.await("has a record", w, func(st state) error {
		if err := json.Unmarshal([]byte(st.Annotations[basisAnnotation]), &basis); err != nil {
			return fmt.Errorf("the basis is %q: %w", st.Annotations[basisAnnotation], err)
		}
		if basis.Written.IsZero() {
			return errors.New("the basis is the operator's")
		}
		return nil
	})
	s.patchAs("operator", w, patch)
	return basis.Written
}

func TestTheRecordThatSomebodyKeepsUndoingIsSpacedOut(t *testing.T) {
	for name, test := range map[string]struct{ patch, by string }{
		"both annotations are removed": {fmt.Sprintf(`{"metadata":{"annotations":{%q:null,%q:null}}}`, checksumsAnnotation, basisAnnotation), "another client"},
		"the basis is replaced":        {fmt.Sprintf(`{"metadata":{"annotations":{%q:"{}"}}}`, basisAnnotation), `field manager "operator"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSceneApart(t)
			s.startController()
			s.make(settings, set("used", "v1"))
			app := s.run("app", podOf(envFrom(settings)), withGrace("0s"))
			s.started(app)

			const rewrites = 6
			var writes []time.Time
			for range rewrites + 1 {
				writes = append(writes, s.undoRecord(app, test.patch))
			}
			s.requireSpacing(writes, 0, 0, 0, time.Second, 2*time.Second, 4*time.Second)
			s.awaitEvent(app, "RecordUndone", test.by+" keeps removing or replacing the annotations "+checksumsAnnotation)
			if got := s.metric("records_undone_total", nil); got != rewrites && got != rewrites+1 { // the next one waits for 8 s only
				t.Errorf("%v records were written again, want %d", got, rewrites)
			}
			before := s.now(app)
			s.edit(settings, set("used", "v2"))
			s.awaitRestart(app, before)
		})
	}
}
