package gate

import (
	"slices"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
)

// HaltRecord is a halt as it is kept outside the process, in JSON.
type HaltRecord struct {
	ID      string    `json:"id"`
	Config  string    `json:"config"`
	Keys    []string  `json:"keys,omitempty"`
	Content string    `json:"content"`
	Failed  []string  `json:"failed"`
	Since   time.Time `json:"since"`
	Resumed time.Time `json:"resumed,omitzero"`
}

// Halt returns the halt, and false if the record lacks what a halt needs. Failed workloads whose names
// cannot be read are left out.
func (r *HaltRecord) Halt() (Halt, bool) {
	config, ok := catalog.ParseConfigRef(r.Config)
	h := Halt{ID: r.ID, Config: config, Keys: r.Keys, Content: r.Content, Since: r.Since, Resumed: r.Resumed}
	for _, name := range r.Failed {
		if ref, isWorkload := catalog.ParseWorkloadRef(name); isWorkload {
			h.Failed = append(h.Failed, ref)
		}
	}
	return h, ok && r.ID != "" && r.Content != ""
}

// Record returns the record of the halt, which shares no memory with it.
func (h *Halt) Record() HaltRecord {
	record := HaltRecord{ID: h.ID, Config: h.Config.String(), Content: h.Content, Since: h.Since.UTC(), Resumed: h.Resumed.UTC()}
	record.Keys = slices.Clone(h.Keys)
	for _, ref := range h.Failed {
		record.Failed = append(record.Failed, ref.String())
	}
	return record
}
