package catalog

import "time"

// ObserveWritten takes in a workload as the API server answered it to a write
// that was decided on a view of the given moment. The workload stays as it is if the watch has
// already shown that it is gone or was written again. It reports whether the answer calls
// for another decision: an admission policy has reverted the restart.
func (c *Catalog) ObserveWritten(workload Workload, decided Moment) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	previous := c.workloads[workload.Ref]
	isPresent := c.refresh(workload)
	if isPresent || !workload.Record.Written.IsZero() {
		c.claim(workload.Ref, workload.Record.Written, decided)
	}
	return isPresent && showsRevert(previous, c.workloads[workload.Ref])
}

// ObserveCarriedOut takes in that a write was carried out after all whose answer was lost: one
// of a record of that time, which was decided on a view of the given moment.
func (c *Catalog) ObserveCarriedOut(ref WorkloadRef, written time.Time, decided Moment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claim(ref, written, decided)
}

// claim takes the present record of a workload, if it was written at that time, for our own.
func (c *Catalog) claim(ref WorkloadRef, written time.Time, decided Moment) {
	known, found := c.workloads[ref]
	if !found || !known.Record.Written.Equal(written) {
		return
	}
	own := *known
	own.RecordSeen, own.OwnRecord = decided, true
	c.workloads[ref] = &own
}

// ObserveRead takes in a workload as the API server answered it to a read. Like
// [Catalog.ObserveWritten] it does nothing if the watch is further.
func (c *Catalog) ObserveRead(workload Workload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refresh(workload)
}

// refresh takes in a workload that did not come from the watch, and tells whether the watch
// was not further.
func (c *Catalog) refresh(workload Workload) bool {
	known, found := c.workloads[workload.Ref]
	if !found || known.UID != workload.UID || newer(known, &workload) {
		return false
	}
	c.moment++
	c.putWorkload(&workload, c.moment, c.moment)
	return true
}
