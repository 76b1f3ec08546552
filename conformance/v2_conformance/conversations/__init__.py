"""What belongs to a case, written once: generators that yield what to do and are sent what came."""
