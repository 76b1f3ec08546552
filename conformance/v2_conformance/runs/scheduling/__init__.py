"""What runs when: order, connections, budget."""
