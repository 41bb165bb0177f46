from swap_chain_watcher.app import main

main()
