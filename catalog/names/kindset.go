package names

import (
	"encoding/json"
	"fmt"
)

// A workload may let only those configs count that are marked, as with Reloader's annotations search and match. A config
// without the mark is ignored for this workload, as one that ignores itself is for all workloads; see [decide.ignored].

// Kinds are kinds of configs of which some count that are marked.
type Kinds uint8

// BothKinds are all that can be marked. In a record, they are the value true.
const BothKinds = Kinds(1<<ConfigMap | 1<<Secret)

// Has reports whether a kind is among them.
func (k Kinds) Has(kind ConfigKind) bool { return k>>kind&1 == 1 }

// MarshalJSON encodes one kind by its name.
func (k Kinds) MarshalJSON() ([]byte, error) {
	for _, kind := range []ConfigKind{ConfigMap, Secret} {
		if k == 1<<kind {
			return json.Marshal(kind.String())
		}
	}
	return json.Marshal(k == BothKinds)
}

// UnmarshalJSON is the inverse of [Kinds.MarshalJSON].
func (k *Kinds) UnmarshalJSON(encoded []byte) error {
	var name string
	if json.Unmarshal(encoded, &name) == nil {
		if *k = 1 << ParseConfigKind(name) & BothKinds; *k == 0 {
			return fmt.Errorf("no config of the kind %.40q is marked", name)
		}
		return nil
	}
	var both bool
	if err := json.Unmarshal(encoded, &both); err != nil {
		return err
	}
	if *k = 0; both {
		*k = BothKinds
	}
	return nil
}
