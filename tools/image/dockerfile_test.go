package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Whether an image was built with or without a container engine makes no difference to who runs it.
func TestTheDockerfileMakesTheSameImage(t *testing.T) {
	image, err := imageOf(binary{architecture: "amd64"}, description{program: programs[0], version: "$VERSION", commit: "$COMMIT"})
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	stage := lastStage(t)
	config := v1.Config{User: one(t, stage, "USER"), ExposedPorts: map[string]struct{}{one(t, stage, "EXPOSE") + "/tcp": {}}, Labels: map[string]string{}}
	if err := json.Unmarshal([]byte(one(t, stage, "ENTRYPOINT")), &config.Entrypoint); err != nil {
		t.Fatal(err)
	}
	for _, label := range regexp.MustCompile(`(\S+)="([^"]*)"`).FindAllStringSubmatch(one(t, stage, "LABEL"), -1) {
		config.Labels[label[1]] = label[2]
	}
	want := file.Config.DeepCopy()
	delete(want.Labels, "org.opencontainers.image.created") // a Dockerfile does not know the time of the commit
	if !reflect.DeepEqual(&config, want) {
		t.Errorf("the Dockerfile says %+v, want %+v", config, *want)
	}

	var copies []string
	for _, arguments := range stage["COPY"] {
		fields := strings.Fields(arguments)
		copies = append(copies, strings.TrimPrefix(fields[len(fields)-1], "/"))
	}
	slices.Sort(copies)
	if names := slices.Sorted(maps.Keys(filesOf(t, image))); one(t, stage, "FROM") != "scratch" || !slices.Equal(copies, names) {
		t.Errorf("the Dockerfile copies %q into %q, want %q", copies, stage["FROM"], names)
	}
}

// lastStage returns the arguments of the instructions of the Dockerfile's last stage, by name.
func lastStage(t *testing.T) map[string][]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	instructions := map[string][]string{}
	for line := range strings.Lines(strings.ReplaceAll(string(content), "\\\n", " ")) {
		name, arguments, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "FROM" {
			clear(instructions)
		}
		instructions[name] = append(instructions[name], arguments)
	}
	return instructions
}

// one returns the arguments of an instruction that is there once.
func one(t *testing.T, stage map[string][]string, name string) string {
	t.Helper()
	if len(stage[name]) != 1 {
		t.Fatalf("the Dockerfile's last stage has %q after %s, want one", stage[name], name)
	}
	return stage[name][0]
}
