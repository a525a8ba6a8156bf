module github.com/keelson-dev/keelson

go 1.26.8
