package decide

import (
	"iter"
	"slices"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// seenConfig is what a workload sees of one config.
type seenConfig struct {
	ref        names.ConfigRef
	references []template.Reference // the references to the config
	config     *content.Config      // nil if the config does not exist
	// seen holds the keys that any of the references selects, and checksum is their checksum. Both
	// are about the keys that the record covers if it was made by another filter.
	seen     names.Keys
	checksum names.Checksum
	// narrowing is what the filters of the workload say about edits, nil for nearly all configs.
	narrowing *narrowing
	standing  standing
}

// standing is how a config compares with what the workload's record has of it.
type standing int

const (
	unrecorded standing = iota // the record does not have it, or is not trusted
	asRecorded
	otherThanRecorded
	lost // the record has it, and it is gone
)

// standingOf compares a config with the record.
func standingOf(r *record.Record, s *seenConfig) standing {
	recorded, found := r.Checksums[s.ref]
	switch {
	case !found || !r.Trusted:
		return unrecorded
	case s.config == nil:
		return lost
	case recorded == s.checksum:
		return asRecorded
	}
	return otherThanRecorded
}

// hasAny reports whether a config stands like this.
func hasAny(seenConfigs []seenConfig, as standing) bool {
	return slices.ContainsFunc(seenConfigs, func(s seenConfig) bool { return s.standing == as })
}

// seenConfigs returns what the workload sees of each config that it references, sorted. Ignored configs
// are left out, and so are those of which each pod has its own content.
func seenConfigs(v *catalog.View) []seenConfig {
	seenConfigs := make([]seenConfig, 0, len(v.Configs))
	for references := range names.Runs(v.Workload.References, template.OfOneConfig) {
		s := seenConfig{ref: references[0].Config, references: references}
		if s.config = v.Present(s.ref); s.ref.Kind.IsPerPod() || v.Workload.Ignores(s.config) {
			continue
		}
		s.narrowing = narrowingOf(v.Workload, references, s.config)
		if s.config != nil {
			s.seen = s.config.Seen(content.Selections(references))
			s.checksum = s.config.ChecksumOf(s.seen, v.Key)
		}
		if s.config != nil && s.narrowing != nil {
			s.narrowing.compare(v, &s)
		}
		s.standing = standingOf(&v.Workload.Record, &s)
		seenConfigs = append(seenConfigs, s)
	}
	return seenConfigs
}

// present returns the checksum to record of a config that exists.
func (s *seenConfig) present() names.Checksum {
	if s.narrowing != nil {
		return s.narrowing.present
	}
	return s.checksum
}

// edits returns the creation of a config that exists, and the edits of what the workload sees of it.
func (s *seenConfig) edits() iter.Seq[annotation.Edit] {
	return func(yield func(annotation.Edit) bool) {
		if s.config == nil || !yield(s.config.Creation()) {
			return
		}
		selected := content.Selections(s.references)
		for _, edit := range s.config.Edits {
			if s.config.IsSeen(edit, selected) && !yield(edit) {
				return
			}
		}
	}
}
