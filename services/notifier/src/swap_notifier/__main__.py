from swap_notifier.app import main

main()
