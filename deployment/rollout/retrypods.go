package rollout

import "time"

// retryPods writes to the target when an old pod has ended, if pods of the target could not be created, such as for
// lack of quota: its controller tries again at each write, and otherwise after pauses of up to a quarter of an hour.
func (p *plan) retryPods() {
	if p.target == nil || p.target.Failure == nil || p.target.Existing >= p.target.size || !p.fewerTerminate() {
		return
	}
	if last, err := time.Parse(time.RFC3339, p.target.Annotations[retriedAnnotation]); err == nil && last.After(p.s.StatusWritten) && p.s.Now.Sub(last) < time.Minute {
		return // the status that tells of it is not written yet
	}
	at := map[string]string{retriedAnnotation: p.s.Now.UTC().Format(time.RFC3339)}
	p.target.set(missing(at, p.target.Annotations))
}
