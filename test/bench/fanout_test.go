package main

import "testing"

func TestEachRoundOfAFanOutDoublesTheLastOneUntilTheNamespaceHasUsedItsPlaces(t *testing.T) {
	for readers, want := range map[int]int{1: 1, 2: 2, 3: 3, 4: 3, 40: 7, 58: 7, 59: 8, 1000: 44} {
		if got := roundsOf(readers); got != want {
			t.Errorf("%d readers take %d rounds, want %d", readers, got, want)
		}
	}
}
