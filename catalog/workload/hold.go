package workload

// Hold is what prevents a patched workload from restarting its pods by itself.
type Hold uint8

// The holds.
const (
	NoHold Hold = iota
	Paused
	OnDelete
	Partitioned
	// Untriggered workloads roll out nothing by themselves, whatever changes.
	Untriggered
	// InPlace workloads change the annotations of the pods that run, which restarts nothing. Unlike with the other
	// holds, the pods would look as if they had restarted; see [Hold.Prevents].
	InPlace
)

// Prevents returns why no restart may begin, empty if the patch of a restart does what it can.
func (h Hold) Prevents() string {
	if h != InPlace {
		return ""
	}
	return "its update strategy updates pods in place, which restarts nothing: set it to ReCreate"
}
