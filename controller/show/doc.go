// Package show shows what is under way, for people and as metrics. It decides nothing and makes no requests.
package show
