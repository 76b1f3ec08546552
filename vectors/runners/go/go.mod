module example.com/vectors

go 1.19
