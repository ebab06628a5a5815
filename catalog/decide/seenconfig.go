package decide

import (
	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// seenConfig is what a workload sees of one config.
type seenConfig struct {
	ref        names.ConfigRef
	references []template.Reference // the references to the config
	config     *content.Config      // nil if the config does not exist
	// seen holds the keys that any of the references selects, and checksum is their checksum. Both
	// are about the keys that the record covers if it was made by another filter.
	seen     []names.Key
	checksum names.Checksum
	// narrowing is what the filters of the workload say about edits, nil for nearly all configs.
	narrowing *narrowing
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

// isRecordedOtherwise reports whether the record is trusted and has another checksum of
// the config.
func isRecordedOtherwise(v *catalog.View, s *seenConfig) bool {
	recorded, found := v.Workload.Record.Checksums[s.ref]
	return s.config != nil && found && v.Workload.Record.Trusted && recorded != s.checksum
}

// isRecordedSame reports whether the record is trusted and has the present checksum of a config.
func isRecordedSame(v *catalog.View, s *seenConfig) bool {
	recorded, found := v.Workload.Record.Checksums[s.ref]
	return s.config != nil && found && v.Workload.Record.Trusted && recorded == s.checksum
}
